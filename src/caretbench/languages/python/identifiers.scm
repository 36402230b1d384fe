; See syntax/identifiers.py for the words.
(identifier) @identifier

[(import_statement) (import_from_statement) (future_import_statement) (decorator) (global_statement)
 (nonlocal_statement) (type_parameter) (type_alias_statement) (case_pattern)] @declared
(function_definition name: (_) @declared)
(class_definition name: (_) @declared)
(parameters (identifier) @declared)
(lambda_parameters (identifier) @declared)
(default_parameter name: (_) @declared)
(typed_default_parameter name: (_) @declared)
(typed_parameter . (_) @declared)
(parameters [(list_splat_pattern) (dictionary_splat_pattern) (tuple_pattern)] @declared)
(lambda_parameters [(list_splat_pattern) (dictionary_splat_pattern) (tuple_pattern)] @declared)
(assignment left: (identifier) @declared)
(assignment left: [(pattern_list (identifier) @declared) (tuple_pattern (identifier) @declared)
  (list_pattern (identifier) @declared)])
(augmented_assignment left: (identifier) @declared)
(named_expression name: (_) @declared)
(as_pattern_target) @declared
(for_statement left: (_) @declared)
(for_in_clause left: (_) @declared)
[(string) (concatenated_string)] @skip
((identifier) @skip (#any-of? @skip "self" "cls" "super" "_"))

(call function: (identifier) @called)
(call function: (attribute attribute: (_) @called))
(attribute object: (identifier) @object)
(attribute attribute: (_) @member)
(keyword_argument name: (_) @key)
(type (_) @type)

[(function_definition) (lambda)] @function
(comparison_operator operators: ["in" "not in"] (tuple) @unordered .)
(union_pattern) @unordered
[(block) (set) (list) (dictionary) (argument_list (keyword_argument) (keyword_argument))] @unordered
(binary_operator operator: ["+" "*" "&" "|" "^"]) @symmetric
(boolean_operator operator: ["and" "or"]) @symmetric
(comparison_operator operators: ["==" "!=" "is" "is not"]) @symmetric
