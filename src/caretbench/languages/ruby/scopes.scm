; See syntax/scopes.py for the words.
[(method) (singleton_method) (do_block) (block) (lambda) (class) (module) (then) (else)] @scope
[(method_parameters (identifier) @parameter) (block_parameters (identifier) @parameter)
 (lambda_parameters (identifier) @parameter)]
(optional_parameter name: (identifier) @parameter value: (_) @value)
(keyword_parameter name: (identifier) @parameter)
(assignment left: (identifier) @local right: (_) @value)
(assignment left: (left_assignment_list (identifier) @local) right: (_) @values)
(method name: (identifier) @function parameters: (_) @parameters)
(exception_variable (identifier) @local)
