[(if_statement) (conditional_expression) (for_statement) (foreach_statement) (while_statement) (do_statement)
 (catch_clause) (switch_expression_arm)] @decision
(switch_section "case") @decision
(binary_expression operator: ["&&" "||" "??"]) @decision
