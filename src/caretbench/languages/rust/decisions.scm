[(if_expression) (for_expression) (while_expression) (match_arm)] @decision
(binary_expression operator: ["&&" "||"]) @decision
