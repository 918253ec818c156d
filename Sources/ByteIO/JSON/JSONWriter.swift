extension JSON {
    /// The document as text. `pretty`: two spaces a level and a final newline. Same value, same bytes: members stay in
    /// their order, numbers are the shortest that read back equal.
    public func text(pretty: Bool = false) -> String { fatalError("helper") }
}
