import AccelByteIO

extension JSON {
    /// A whole number; null for nil.
    static func int(_ value: Int?) -> JSON { value.map { .integer(Int64($0)) } ?? .null }
    /// Whole numbers, such as the sizes of a shape.
    static func ints(_ values: [Int]) -> JSON { .array(values.map { .integer(Int64($0)) }) }
    /// A text; null for nil.
    static func text(_ text: String?) -> JSON { text.map { .string($0) } ?? .null }
    static func texts(_ texts: some Sequence<String>) -> JSON { .array(texts.map { .string($0) }) }
    /// Seconds to a microsecond.
    static func seconds(_ seconds: Double) -> JSON { .number((seconds * 1e6).rounded() / 1e6) }
    /// A tensor or a port: its name, element type and shape, then other members.
    static func tensor(_ name: String, _ type: String, _ shape: [Int], _ others: [Member] = []) -> JSON {
        .object([.init("name", .string(name)), .init("dtype", .string(type)), .init("shape", .ints(shape))] + others)
    }
}
