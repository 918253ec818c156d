import AccelByteIO
import AccelFormats
import AccelModelFamilies
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@Suite("The table of formats")
struct FormatTableTests {
    /// A row of the article's table.
    private static func line(_ row: FormatTable.Row) -> String {
        func schemes(_ way: FormatReading.Way) -> String {
            let names = row.reading.schemes.filter { $0.way == way }.map(\.name)
            return names.isEmpty ? "-" : names.joined(separator: ", ")
        }
        func families(_ names: [String]?) -> String { names?.joined(separator: ", ") ?? "all" }
        let others = [FormatReading.Way.decoded, .merged].map(schemes).filter { $0 != "-" }
        let written = row.writing.map { writing in
            (writing.schemes + (writing.option.map { $0.allowed.map { "`\($0)`" } } ?? [])).joined(separator: ", ")
        }
        let cells = [
            "`\(row.format.name)`", row.reading.hasFunctions ? families(row.reading.families) : "weights only",
            schemes(.exact), schemes(.kept), others.isEmpty ? "-" : others.joined(separator: ", "),
            row.writing.map { families($0.families) } ?? "not written", written ?? "-",
        ]
        return "| \(cells.joined(separator: " | ")) |"
    }

    @Test("The article Formats has the registry's rows", arguments: FormatTable.rows.map { $0.format.name })
    func article(_ name: String) throws {
        let article = "\(Fixtures.repository)/Sources/accelc/accelc.docc/Formats.md"
        let text = try String(contentsOfFile: article, encoding: .utf8)
        let row = try #require(FormatTable.rows.first { $0.format.name == name })
        #expect(text.contains(Self.line(row)), "Formats.md lacks the line\n\(Self.line(row))")
    }

    @Test("Families of formats are families, and every exporter writes plain numbers of some type")
    func families() throws {
        let known = Set(Families.all.flatMap { $0.modelTypes + [$0.name] })
        for row in FormatTable.rows {
            for name in (row.reading.families ?? []) + (row.writing?.families ?? []) {
                #expect(known.contains(name), "\(row.format.name): \(name)")
            }
            if let writing = row.writing { #expect(writing.schemes.contains("float32"), "\(row.format.name)") }
        }
    }

    @Test("Schemes are those of the registry of codecs, and some format writes each")
    func schemes() {
        let written = Set(FormatTable.rows.flatMap { $0.writing?.schemes ?? [] })
        for codec in FormatTable.samples { #expect(written.contains(codec.specification), "\(codec.specification)") }
        for row in FormatTable.rows {
            let names = row.reading.schemes.map(\.name)
            #expect(!names.isEmpty && Set(names).count == names.count, "\(row.format.name)")
        }
    }

    @Test("The JSON has a member for each format")
    func json() throws {
        let text = FormatTable.json.text(pretty: true)
        let rows = try JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: "formats"), file: "formats").array()
        #expect(try rows.map { try $0["format"].string() } == ModelFormats.all.map { $0.name })
    }
}
