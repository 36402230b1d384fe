[(if) (unless) (elsif) (if_modifier) (unless_modifier) (while) (until) (while_modifier) (until_modifier) (for) (when)
 (in_clause) (conditional) (rescue) (rescue_modifier)] @decision
(binary operator: ["&&" "||" "and" "or"]) @decision
