[(if_statement) (elif_clause) (if_clause) (conditional_expression) (for_statement) (for_in_clause)
 (while_statement) (except_clause) (case_clause)] @decision
(boolean_operator) @decision
