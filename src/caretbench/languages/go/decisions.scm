[(if_statement) (for_statement) (expression_case) (type_case) (communication_case)] @decision
(binary_expression operator: ["&&" "||"]) @decision
