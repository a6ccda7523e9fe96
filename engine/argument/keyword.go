package argument

// form is what the value of a schema keyword must look like.
type form int

const (
	formAny form = iota
	formText
	formFlag
	formNumber
	formCount // a whole number that is not negative
	formNames // a list of different strings
	formList
	formType
	formSchema
	formSchemas    // a list of schemas
	formProperties // an object whose values are schemas
	formNameLists  // an object whose values are lists of strings
)

// keyword describes one word of JSON Schema 2020-12 or of Writ.
type keyword struct {
	name string
	form form
	// of is the type to which a bound applies, or "" for all.
	of string
	// slow words are left to the full validator.
	slow bool
}

// keywords lists every word that a schema may use.
func keywords() []keyword {
	return []keyword{
		{name: "type", form: formType}, {name: "enum", form: formList}, {name: "const"},
		{name: "title", form: formText}, {name: "description", form: formText}, {name: "default"},
		{name: "examples", form: formList}, {name: "deprecated", form: formFlag}, {name: "readOnly", form: formFlag},
		{name: "writeOnly", form: formFlag}, {name: "$comment", form: formText},
		{name: "minimum", form: formNumber, of: "number"}, {name: "maximum", form: formNumber, of: "number"},
		{name: "exclusiveMinimum", form: formNumber, of: "number"}, {name: "exclusiveMaximum", form: formNumber, of: "number"},
		{name: "multipleOf", form: formNumber, of: "number"},
		{name: "minLength", form: formCount, of: "string"}, {name: "maxLength", form: formCount, of: "string"},
		{name: "pattern", form: formText, of: "string"}, {name: "format", form: formText, of: "string"},
		{name: "items", form: formSchema, of: "array"}, {name: "minItems", form: formCount, of: "array"},
		{name: "maxItems", form: formCount, of: "array"}, {name: "uniqueItems", form: formFlag, of: "array"},
		{name: "properties", form: formProperties, of: "object"}, {name: "required", form: formNames, of: "object"},
		{name: "additionalProperties", form: formSchema, of: "object"},
		{name: "minProperties", form: formCount, of: "object"}, {name: "maxProperties", form: formCount, of: "object"},

		{name: "prefixItems", form: formSchemas, of: "array", slow: true}, {name: "contains", form: formSchema, of: "array", slow: true},
		{name: "minContains", form: formCount, of: "array", slow: true}, {name: "maxContains", form: formCount, of: "array", slow: true},
		{name: "unevaluatedItems", form: formSchema, of: "array", slow: true},
		{name: "patternProperties", form: formProperties, of: "object", slow: true}, {name: "propertyNames", form: formSchema, of: "object", slow: true},
		{name: "unevaluatedProperties", form: formSchema, of: "object", slow: true},
		{name: "dependentRequired", form: formNameLists, of: "object", slow: true}, {name: "dependentSchemas", form: formProperties, of: "object", slow: true},
		{name: "allOf", form: formSchemas, slow: true}, {name: "anyOf", form: formSchemas, slow: true}, {name: "oneOf", form: formSchemas, slow: true},
		{name: "not", form: formSchema, slow: true}, {name: "if", form: formSchema, slow: true},
		{name: "then", form: formSchema, slow: true}, {name: "else", form: formSchema, slow: true},

		{name: "$ref", form: formText}, {name: "$defs", form: formProperties}, {name: "definitions", form: formProperties},
		{name: "$schema", form: formText}, {name: "$id", form: formText},

		{name: "under", form: formNames, of: "string"}, {name: "must", form: formText, of: "string"},
		{name: "allow_leading", form: formNames}, {name: "optional", form: formFlag},
	}
}

// vocabulary is keywords by name.
func vocabulary() map[string]keyword {
	list := keywords()
	words := make(map[string]keyword, len(list))
	for _, k := range list {
		words[k.name] = k
	}
	return words
}

// combinators are the words that no client must see at the top.
func combinators() []string {
	return []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}
}

func typeWords() []string {
	return []string{"string", "integer", "number", "boolean", "array", "object", "null"}
}
