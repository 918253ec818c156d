import AccelByteIO
import AccelPrograms

extension Inspection {
    /// Returns the lines of ports, in their order. Ports of one type whose names differ in consecutive numbers only share a
    /// line, with what is common to their roles.
    /// - Parameter ports: names, and types with any other detail.
    /// - Parameter head: the word before each name.
    static func lines(
        of ports: [(name: String, type: String)], _ side: RoleRule.Side, of interface: Interface, _ head: String
    ) -> [String] {
        FoldedNames.all(ports, name: \.name, kind: \.type).map { group in
            let roles = group.elements.map { interface.role(of: $0.name, side) }
            let role = roles.first?.common(with: roles) ?? .opaque
            let links =
                side == .input
                ? group.elements.compactMap { port in interface.links.first { $0.input == port.name } } : []
            let sources = FoldedNames.all(links, name: \.output, kind: \.part).map { source in
                "\(source.name) of \(source.elements.first?.part ?? "")"
            }
            return "  \(head)\(group.name) \(group.elements.first?.type ?? ""): \(role)"
                + (sources.isEmpty ? "" : ", from \(sources.joined(separator: ", "))")
        }
    }

    /// Returns the elements of a listing by their names' numbers. Those of one kind whose names differ in consecutive
    /// numbers only share a line, unless `folds` is false.
    static func folded<Element>(
        _ elements: [Element], folds: Bool, name: (Element) -> String, kind: (Element) -> String
    ) -> [(name: String, elements: [Element])] {
        let sorted = elements.sortedByNumbers(name)
        guard folds else { return sorted.map { (name($0), [$0]) } }
        return FoldedNames.all(sorted, name: name, kind: kind).map { ($0.name, $0.elements) }
    }
}
