; inherits: ecmascript
[(identifier) (shorthand_property_identifier) (shorthand_property_identifier_pattern)] @is.identifier
[(class_declaration) (class)] @is.scope.class
(class_heritage (identifier) @mark.base)
(class_heritage (member_expression property: (_) @mark.base))
(formal_parameters [(identifier) (object_pattern) (array_pattern) (assignment_pattern) (rest_pattern)]
  @as.target.parameter)
(field_definition property: (_) @as.target.field)
(jsx_opening_element name: (identifier) @mark.called)
(jsx_self_closing_element name: (identifier) @mark.called)
(jsx_closing_element) @is.skip
