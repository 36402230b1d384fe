; Where the grammar expects no reserved word it takes one for a name: a surplus `end`, an `else` of nothing.
; (Behind a receiver and in definitions, reserved words are names.)
([
  (program (identifier) @fault)
  (body_statement (identifier) @fault)
  (block_body (identifier) @fault)
  (then (identifier) @fault)
  (else (identifier) @fault)
  (do (identifier) @fault)
  (ensure (identifier) @fault)
  (begin (identifier) @fault)
  (assignment right: (identifier) @fault)
  (argument_list (identifier) @fault)
  (call !receiver method: (identifier) @fault)
] (#any-of? @fault "begin" "case" "class" "def" "do" "else" "elsif" "end" "ensure" "for" "if" "in" "module" "rescue"
   "then" "unless" "until" "when" "while"))
