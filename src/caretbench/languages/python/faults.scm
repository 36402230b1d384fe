; The grammar accepts more than the language: layout is checked on these nodes.
(module) @body
(block) @body
(try_statement) @try
(print_statement) @fault
(exec_statement) @fault
