extension Sequence where Element: Equatable {
    /// The elements, each once, in the order in which they first come. For few elements: each is compared with those before it.
    package var distinct: [Element] { reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
}
