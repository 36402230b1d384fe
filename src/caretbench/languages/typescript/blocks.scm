; inherits: javascript
(abstract_class_declaration body: (_) @class_body)
(interface_declaration body: (_) @class_body)
