/// The variables of a part of a template. Names that it lacks are those of the parts around it.
final class Scope {
    private var variables: [String: Value]
    let parent: Scope?

    init(_ variables: [String: Value] = [:], parent: Scope?) {
        (self.variables, self.parent) = (variables, parent)
    }

    /// Returns the value of a name; nil if it is unknown.
    func value(_ name: String) -> Value? {
        var scope: Scope? = self
        while let current = scope {
            if let value = current.variables[name] { return value }
            scope = current.parent
        }
        return nil
    }

    func set(_ name: String, _ value: Value) { variables[name] = value }

    /// Removes what it holds, so that no values hold each other.
    func removeAll() { variables = [:] }
}
