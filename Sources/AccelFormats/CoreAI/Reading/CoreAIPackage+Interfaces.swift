/// The ports of a function of a Core AI model.
package struct CoreAIInterface: Sendable {
    /// An input, output or state.
    package struct Port: Equatable, Sendable, CustomStringConvertible {
        /// The name by which applications pass it.
        package let name: String
        /// The element type, such as `float16`.
        package let element: String
        /// The shape.
        package let sizes: [Int]

        /// e.g. `in_step int32 [1]`
        package var description: String { "\(name) \(element) \(sizes)" }
    }

    /// The function.
    package let name: String
    /// The inputs without states, in order.
    package let inputs: [Port]
    /// The states, in order.
    package let states: [Port]
    /// The outputs without states, in order.
    package let outputs: [Port]
}

extension CoreAIPackage {
    /// The ports of the functions that applications call, in the order of the file. Ports of other types than tensors are left out.
    package var interfaces: [CoreAIInterface] {
        functions.filter(\.isPublic).compactMap { name, _, graph in
            guard case .type(.function(let results, let operands))? = graph.properties[3].attribute else { return nil }
            let arguments = Self.ports(graph.properties[0].attribute, operands)
            return CoreAIInterface(
                name: name, inputs: arguments.filter { !$0.isState }.map(\.port),
                states: arguments.filter(\.isState).map(\.port),
                outputs: Self.ports(graph.properties[8].attribute, results).map(\.port))
        }
    }

    /// Returns the tensors among a function's arguments or results.
    /// - Parameter attributes: for each of them an array of named attributes.
    private static func ports(
        _ attributes: CoreAIAttribute?, _ types: [CoreAIType]
    ) -> [(port: CoreAIInterface.Port, isState: Bool)] {
        guard case .array(let all)? = attributes, all.count == types.count else { return [] }
        return zip(all, types).compactMap { attribute, type in
            guard case .array(let named) = attribute else { return nil }
            let names = named.compactMap { entry -> String? in
                guard case .named(CoreAIGraph.nameKey, let values) = entry, case .string(let name)? = values.first
                else {
                    return nil
                }
                return name
            }
            guard let name = names.first else { return nil }
            switch type {
            case .tensor(let sizes, let element): return (.init(name: name, element: "\(element)", sizes: sizes), false)
            case .handle(.tensor(let sizes, let element)):
                return (.init(name: name, element: "\(element)", sizes: sizes), true)
            default: return nil
            }
        }
    }
}
