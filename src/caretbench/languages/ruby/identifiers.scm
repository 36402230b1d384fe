; See syntax/identifiers.py for the words.
[(identifier) (constant) (instance_variable) (class_variable) (global_variable) (hash_key_symbol) (simple_symbol)]
  @identifier

(module name: (_) @declared)
(class name: (_) @declared)
(method name: (_) @declared)
(singleton_method name: (_) @declared)
[(method_parameters (identifier) @declared) (block_parameters (identifier) @declared)
 (lambda_parameters (identifier) @declared)]
[(optional_parameter name: (_) @declared) (keyword_parameter name: (_) @declared)]
[(splat_parameter) (hash_splat_parameter) (block_parameter) (destructured_parameter)] @declared
(assignment left: [(identifier) (constant) (instance_variable) (class_variable) (global_variable)] @declared)
(assignment left: (left_assignment_list) @declared)
(operator_assignment left: [(identifier) (instance_variable) (class_variable) (global_variable)] @declared)
(exception_variable) @declared
(for pattern: (_) @declared)
(alias) @declared
[(string) (regex) (subshell) (heredoc_body) (delimited_symbol) (string_array) (symbol_array)] @skip
((call !receiver method: (identifier) @_method) @skip (#any-of? @_method
  "require" "require_relative" "load" "autoload" "attr_reader" "attr_writer" "attr_accessor" "alias_method"
  "include" "extend" "prepend" "private_constant"))
((identifier) @skip (#any-of? @skip
  "_" "raise" "puts" "lambda" "proc" "private" "protected" "public" "module_function" "loop" "block_given?" "binding"))

(call !receiver method: (identifier) @called)
(call receiver: (_) method: (_) @member)
(call receiver: (_) method: (_) @called arguments: (_))
(call receiver: [(identifier) (constant) (instance_variable)] @object)
(scope_resolution scope: (constant) @object)
(scope_resolution name: (_) @member)
(pair key: (_) @key)

[(method) (singleton_method) (do_block) (block) (lambda)] @function
[(body_statement) (block_body) (then) (else) (hash) (array) (argument_list (pair) (pair)) (exceptions)] @unordered
(when pattern: (_) pattern: (_)) @unordered
(binary operator: ["==" "!=" "+" "*" "&" "|" "^" "&&" "||" "and" "or" "==="]) @symmetric
