/// The positions of a block of tokens for which a decoder computes logits.
public enum LogitPositions: String, CaseIterable, Sendable {
    /// All positions: F32[batch, tokens, vocabulary].
    case all
    /// The last position of the block: F32[batch, 1, vocabulary]. It is enough to choose the next token.
    case last
}

extension Role {
    /// The positions that an output of this role has rows for; `all` unless the role says otherwise.
    public var positions: LogitPositions { word("positions").flatMap(LogitPositions.init) ?? .all }

    /// The axis with one element per position of a sequence; nil if there is none.
    public var positionAxis: Int? { positions == .all ? RoleRule.rule(for: kind)?.positionAxis : nil }
}
