; Features of implementations (C3-Bench): languages/javascript/features.scm explains the words.
; `shape.x` is the feature `x` outside of nested functions, `nothing` is a node that is no feature, `inside` must be in the answer, `alias` is another name of `own`.
(for_statement) @for
(while_statement) @while
(for_statement body: (block) @in.loop) @inside
(while_statement body: (block) @in.loop) @inside
(while_statement condition: (_) @condition)
[(if_statement) (elif_clause)] @if
(if_statement alternative: (else_clause)) @shape.else
(_ (if_statement consequence: (block (return_statement) .) !alternative) @early_return . (_) @inside)
(if_statement consequence: (block [(return_statement) (raise_statement)] .)
  alternative: (else_clause body: (block [(return_statement) (raise_statement)] .))) @shape.branches_return
(if_statement alternative: (elif_clause consequence: (block [(return_statement) (raise_statement)] .))
  alternative: (else_clause body: (block [(return_statement) (raise_statement)] .))) @shape.branches_return
(conditional_expression) @conditional_expression
(match_statement) @match
(match_statement subject: (identifier) @matches.name)
(match_statement subject: (_ (identifier) @matches.name))
(try_statement) @try
(break_statement) @break @exit
(continue_statement) @continue
(return_statement) @return @exit
(raise_statement) @throw @exit
(delete_statement) @delete
(lambda) @lambda
(lambda body: (tuple)) @lambda_tuple
(function_definition) @function
(class_definition) @class
(dictionary) @dict_literal
(list) @list_literal
(slice) @slice
(yield) @yield
(yield "from") @yield_from
(named_expression) @assignment_expression
(list_comprehension) @list_comprehension @comprehension
(set_comprehension) @set_comprehension @comprehension
(dictionary_comprehension) @dict_comprehension @comprehension
(generator_expression) @comprehension
(_ (for_in_clause)) @clause
; `[value for _ in [0]]` goes through nothing.
(_ body: (_) . (for_in_clause right: [(list "[" . "]") (list . (_) .) (tuple "(" . ")") (tuple . (_) .)
  (set . (_) .)])) @nothing
(comparison_operator) @compare
(comparison_operator operators: ["in" "not in"]) @membership
(binary_operator operator: _ @operator.name)
(augmented_assignment operator: _ @augmented.name)
(subscript subscript: [(integer) (float) (string) (true) (false) (none) (unary_operator)]) @subscript.name

; The grammar reads `[*map(f, a)]` as a call of `*map`.
(call function: [(identifier) @call.name (attribute attribute: (identifier) @call.name)
  (list_splat [(identifier) @call.name (attribute attribute: (identifier) @call.name)])] arguments: (_) @arguments)
(call function: [(identifier) @lambda_argument.name (attribute attribute: (identifier) @lambda_argument.name)
  (list_splat (identifier) @lambda_argument.name)]
  arguments: (argument_list (lambda)))
(except_clause value: [(identifier) @handler.name (attribute attribute: (identifier) @handler.name)
  (tuple [(identifier) @handler.name (attribute attribute: (identifier) @handler.name)])
  (as_pattern . [(identifier) @handler.name (attribute attribute: (identifier) @handler.name)
    (tuple [(identifier) @handler.name (attribute attribute: (identifier) @handler.name)])])])
(import_statement name: [(dotted_name) @import.name (aliased_import name: (dotted_name) @import.name)])
(wildcard_import) @import.name
(import_from_statement module_name: (dotted_name) @import.name)
(import_from_statement name: [(dotted_name) @import.name (aliased_import name: (dotted_name) @import.name)])
(import_from_statement name: (aliased_import name: (dotted_name) @own alias: (identifier) @alias))
(class_definition superclasses: (argument_list [(identifier) @base.name (attribute attribute: (identifier) @base.name)]))
(decorator [(identifier) @decorator.name (attribute attribute: (identifier) @decorator.name)
  (call function: [(identifier) @decorator.name (attribute attribute: (identifier) @decorator.name)])])

(class_definition name: (identifier) @name.name)
(function_definition name: (identifier) @name.name @function.name body: (_) @function.body)
(assignment left: (identifier) @function.name @bound.lambda right: (lambda body: (_) @function.body))
(assignment left: (identifier) @name.name)
(augmented_assignment left: (identifier) @name.name)
(for_statement left: (identifier) @name.name)
(for_in_clause left: (identifier) @name.name)
(pattern_list [(identifier) @name.name (list_splat_pattern (identifier) @name.name)])
(tuple_pattern [(identifier) @name.name (list_splat_pattern (identifier) @name.name)])
(list_pattern [(identifier) @name.name (list_splat_pattern (identifier) @name.name)])
(with_item value: (as_pattern alias: (as_pattern_target (identifier) @name.name)))
(named_expression name: (identifier) @name.name)

(assignment left: (identifier) @bound.name right: (_) @value)
(assignment left: (pattern_list . (identifier) @bound.name) right: (expression_list . (_) @value))
(assignment left: (pattern_list (identifier) @bound.name .) right: (expression_list (_) @value .))
(augmented_assignment left: (identifier) @bound.name right: (_) @value)
(named_expression name: (identifier) @bound.name value: (_) @value)
(call function: (attribute object: (identifier) @bound.name attribute: (identifier) @_extend)
  arguments: [(argument_list . (_) @value .) (generator_expression) @value] (#eq? @_extend "extend"))
(return_statement (_) @value @returned)
(assignment left: (identifier) @constant.name right: [(integer) (float) (string) (true) (false) (none)])
(assignment left: (pattern_list . (identifier) @constant.name)
  right: (expression_list . [(integer) (float) (string) (true) (false) (none)]))
(assignment left: (pattern_list (identifier) @constant.name .)
  right: (expression_list [(integer) (float) (string) (true) (false) (none)] .))
(augmented_assignment left: (identifier) @constant.name right: [(integer) (float) (string) (true) (false) (none)])

(assignment left: [(identifier) @updated.name (pattern_list (identifier) @updated.name)])
(augmented_assignment left: (identifier) @updated.name @changed)
(assignment left: (identifier) @changed right: (binary_operator left: (identifier) @_same) (#eq? @changed @_same))
(assignment left: [(subscript value: (identifier) @updated.name @changed)
  (subscript value: (subscript value: (identifier) @updated.name @changed))])
(augmented_assignment left: [(subscript value: (identifier) @updated.name @changed)
  (subscript value: (subscript value: (identifier) @updated.name @changed))])
(pattern_list [(subscript value: (identifier) @updated.name @changed)
  (subscript value: (subscript value: (identifier) @updated.name @changed))])
(delete_statement (subscript value: (identifier) @updated.name @changed))
(call function: (attribute object: (identifier) @updated.name @changed attribute: (identifier) @_grows)
  (#any-of? @_grows "append" "appendleft" "extend" "add" "update" "setdefault" "insert"))

; What a call may change: the object that it is made on, and its arguments.
(call function: [(identifier) @_called (attribute object: (identifier) @changed.call attribute: (identifier) @_called)]
  (#not-match? @_called "^(count|get|index|items|keys|values)$"))
(call function: [(identifier) @_called (attribute attribute: (identifier) @_called)]
  arguments: (argument_list (identifier) @changed.call)
  (#not-match? @_called "^(abs|all|any|len|max|min|range|sorted|sum|count|get|index|items|keys|values)$"))
(augmented_assignment left: (attribute object: (identifier) @changed.call))
(assignment left: (attribute object: (identifier) @changed.call))
(_ parameters: (_ [(identifier) @function.parameter (_ . (identifier) @function.parameter)]))

(assignment left: (identifier) @filled.dict right: [(dictionary) (dictionary_comprehension)])
(assignment left: (identifier) @filled.dict
  right: (call function: [(identifier) @_kind (attribute attribute: (identifier) @_kind)])
  (#any-of? @_kind "dict" "fromkeys" "defaultdict" "Counter" "OrderedDict"))
; `[1] + [0] * n` is a list.
(assignment left: (identifier) @filled.list right: [(list) (list_comprehension)
  (binary_operator [(list) (list_comprehension) (binary_operator [(list) (list_comprehension)])])])
(assignment left: (identifier) @filled.list right: (call function: (identifier) @_kind) (#eq? @_kind "list"))
(assignment left: (identifier) @filled.tuple right: (tuple))
(assignment left: (identifier) @filled.tuple right: (call function: (identifier) @_kind) (#eq? @_kind "tuple"))
(assignment left: (identifier) @filled.set right: [(set) (set_comprehension)])
(assignment left: (identifier) @filled.set right: (call function: (identifier) @_kind) (#eq? @_kind "set"))
(assignment left: (identifier) @filled.deque
  right: (call function: [(identifier) @_kind (attribute attribute: (identifier) @_kind)]) (#eq? @_kind "deque"))
