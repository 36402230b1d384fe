; inherits: ecmascript
(formal_parameters (identifier) @parameter)
(formal_parameters (assignment_pattern left: (identifier) @parameter right: (_) @value))
(formal_parameters (object_pattern (shorthand_property_identifier_pattern) @parameter))
(formal_parameters (rest_pattern (identifier) @parameter))
(class_declaration name: (identifier) @typename)
