; See syntax/names/node_roles.py for the words.
[(identifier) (constant)] @is.identifier

; scopes
[(method) (singleton_method)] @is.scope.method
(method name: (_) @as.declare.method)
(singleton_method name: (_) @as.declare.method)
(method body: (_) @as.body)
(singleton_method body: (_) @as.body)
[(block) (do_block) (lambda)] @is.scope.lambda
(block body: (_) @as.body)
(do_block body: (_) @as.body)
(class) @is.scope.class
(class name: (_) @as.declare.class)
(class superclass: (superclass (_) @mark.base))
(class body: (_) @as.body)
(module) @is.scope.namespace
(module name: (_) @as.declare.namespace)
(module body: (_) @as.body)

; parameters
(method_parameters (identifier) @as.target.parameter)
(block_parameters (identifier) @as.target.parameter)
(lambda_parameters (identifier) @as.target.parameter)
(optional_parameter name: (_) @as.target.parameter value: (_) @as.value)
(keyword_parameter name: (_) @as.target.parameter)
(splat_parameter name: (_) @as.target.parameter)
(hash_splat_parameter name: (_) @as.target.parameter)
(block_parameter name: (_) @as.target.parameter)
(destructured_parameter (identifier) @as.target.parameter)

; what is assigned
[(left_assignment_list) (destructured_left_assignment) (rest_assignment)] @is.pattern
(assignment left: (_) @as.target.write right: (_) @as.value)
(operator_assignment left: (_) @as.target.update right: (_) @as.value)
(exception_variable (identifier) @as.target.write)

; names that are none, members
(call receiver: (_) method: (_) @as.ignore)
(call !receiver method: (identifier) @mark.called)
(scope_resolution scope: (_) @as.object name: (_) @as.member) @is.member
[(alias) (undef)] @is.skip

; the flow
[(if) (unless) (elsif) (if_modifier) (unless_modifier)] @is.branch
(if condition: (_) @as.condition consequence: (_) @as.body)
(unless condition: (_) @as.condition consequence: (_) @as.body)
(elsif condition: (_) @as.condition consequence: (_) @as.body)
(if alternative: (_) @as.else)
(unless alternative: (_) @as.else)
(elsif alternative: (_) @as.else)
(if_modifier body: (_) @as.body condition: (_) @as.condition)
(unless_modifier body: (_) @as.body condition: (_) @as.condition)
[(while) (until) (for)] @is.loop
(while condition: (_) @as.condition body: (_) @as.body)
(until condition: (_) @as.condition body: (_) @as.body)
(for pattern: (_) @as.target.loop_write value: (_) @as.init body: (_) @as.body)
(case) @is.switch
(case value: (_) @as.subject)
(when) @is.case
(case (else) @is.case @mark.default)
(return) @is.return
(break) @is.break
(next) @is.continue
