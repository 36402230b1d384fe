[(if_statement) (ternary_expression) (for_statement) (for_in_statement) (while_statement) (do_statement)
 (catch_clause) (switch_case)] @decision
(binary_expression operator: ["&&" "||" "??"]) @decision
