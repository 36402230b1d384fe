[(if_statement) (conditional_expression) (for_statement) (for_range_loop) (while_statement) (do_statement)
 (catch_clause)] @decision
(case_statement "case") @decision
(binary_expression operator: ["&&" "||" "and" "or"]) @decision
