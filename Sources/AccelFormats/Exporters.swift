import AccelByteIO

/// The registry of exporters.
public enum Exporters {
    /// The exporters of all formats that can be written.
    public static let all: [any Exporter.Type] = ModelFormats.all.compactMap { $0.exporter }

    /// Returns the exporter of a format.
    /// - Throws: `RequestError` with the nearest name for an unknown format.
    public static func named(_ name: String) throws -> any Exporter.Type {
        if let exporter = all.first(where: { $0.name == name }) { return exporter }
        let names = all.map { $0.name }
        let hint = suggestion(for: name, among: names)
        throw RequestError("there is no format \"\(name)\" (there is \(names.joined(separator: ", ")))\(hint)")
    }
}
