; See syntax/identifiers.py for the words.
[(identifier) (field_identifier) (type_identifier) (package_identifier)] @identifier

; what is written there declares a name, or is no use of one
[(package_clause) (import_declaration) (type_parameter_list)] @declared
(function_declaration name: (_) @declared)
(method_declaration receiver: (_) @declared name: (_) @declared)
(parameter_declaration name: (_) @declared)
(variadic_parameter_declaration name: (_) @declared)
(short_var_declaration left: (_) @declared)
(range_clause left: (expression_list) @declared ":=")
(receive_statement left: (_) @declared ":=")
(type_switch_statement alias: (_) @declared)
(var_spec name: (_) @declared)
(const_spec name: (_) @declared)
(type_spec name: (_) @declared)
(type_alias name: (_) @declared)
(field_declaration name: (_) @declared)
(field_declaration !name type: (_) @declared)
(method_elem name: (_) @declared)
((identifier) @skip (#any-of? @skip
  "_" "append" "cap" "clear" "close" "complex" "copy" "delete" "imag" "iota" "len" "make" "max" "min" "new" "panic"
  "print" "println" "real" "recover"))
((type_identifier) @skip (#any-of? @skip
  "any" "bool" "byte" "comparable" "complex64" "complex128" "error" "float32" "float64" "int" "int8" "int16" "int32"
  "int64" "rune" "string" "uint" "uint8" "uint16" "uint32" "uint64" "uintptr"))
((call_expression function: (identifier) @skip) (#any-of? @skip
  "bool" "byte" "error" "float32" "float64" "int" "int8" "int16" "int32" "int64" "rune" "string" "uint" "uint8"
  "uint16" "uint32" "uint64" "uintptr"))

; places
(call_expression function: (identifier) @called)
(call_expression function: (selector_expression field: (_) @called))
(selector_expression operand: (identifier) @object)
(selector_expression field: (_) @member)
(qualified_type name: (_) @member)
(keyed_element key: (literal_element (identifier) @key))

[(function_declaration) (method_declaration) (func_literal)] @function
[(block) (statement_list) (literal_value) (field_declaration_list) (interface_type) (var_spec_list) (const_declaration)
 (type_case)] @unordered
(expression_case value: (expression_list) @unordered)
(binary_expression operator: ["==" "!=" "+" "*" "&" "|" "^" "&&" "||"]) @symmetric
