; What JavaScript and TypeScript share. See syntax/identifiers.py for the words.
(function_declaration name: (_) @declared)
(generator_function_declaration name: (_) @declared)
(function_expression name: (_) @declared)
(class_declaration name: (_) @declared)
(method_definition name: (_) @declared)
(variable_declarator name: (_) @declared)
(arrow_function parameter: (_) @declared)
(for_in_statement left: (identifier) @declared)
(catch_clause parameter: (_) @declared)
[(template_string) (string) (regex)] @skip
((identifier) @skip (#any-of? @skip "undefined" "arguments" "require" "module" "exports" "_"))

(call_expression function: (identifier) @called)
(call_expression function: (member_expression property: (_) @called))
(new_expression constructor: (identifier) @called)
(new_expression constructor: (member_expression property: (_) @called))
(member_expression object: (identifier) @object)
(member_expression property: (_) @member)
(pair key: (property_identifier) @key)

[(function_declaration) (function_expression) (arrow_function) (method_definition) (generator_function)
 (generator_function_declaration)] @function
(binary_expression operator: ["==" "!=" "===" "!==" "+" "*" "&" "|" "^" "&&" "||"]) @symmetric
