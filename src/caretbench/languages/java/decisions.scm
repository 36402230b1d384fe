[(if_statement) (ternary_expression) (for_statement) (enhanced_for_statement) (while_statement) (do_statement)
 (catch_clause)] @decision
(switch_label "case") @decision
(binary_expression operator: ["&&" "||"]) @decision
