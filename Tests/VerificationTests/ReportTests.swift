import AccelByteIO
import AccelPrograms
import Foundation
import TestSupport
import Testing

@testable import AccelVerification

#if canImport(FoundationXML)
    import FoundationXML
#endif

@Suite("Reports")
struct ReportTests {
    private func report(_ codec: String = "bfloat16", seed: UInt64 = 7) throws -> ParityReport {
        let (model, other) = (try TinyModel(), try TinyModel(seed: seed))
        return try Parity(of: .planned(try model.planned(codec)), against: .reference([other.program])).check()
    }

    @Test("JSON reports are what report.schema.json says, whether they pass or fail", arguments: [7, 8] as [UInt64])
    func schema(seed: UInt64) throws {
        let report = try report(seed: seed)
        #expect(report.exitStatus == (seed == 7 ? .success : .exceeded))
        #expect(try JSONSchema(named: "report.schema.json").violations(of: report.json) == [])
        let text = report.json.text(pretty: true)
        #expect(try JSON.parse(ByteView(Array(text.utf8)), file: "report.json").text(pretty: true) == text)
    }

    @Test("A report carries a self test, and fails with it")
    func selfTest() throws {
        let (model, other) = (try TinyModel(), try TinyModel(seed: 8))
        var report = try report()
        report.selfTest = try SelfTest(
            of: .planned(try model.planned("float16")), against: .reference([model.program])
        ).run()
        #expect(report.exitStatus == .success)
        #expect(try JSONSchema(named: "report.schema.json").violations(of: report.json) == [])
        #expect(report.html.contains("Detection matrix") && report.terminal().contains("self test passed"))
        report.selfTest = try SelfTest(
            of: .planned(try model.planned("float16")), against: .reference([other.program])
        ).run()
        #expect(report.exitStatus == .exceeded && report.headline.contains("self test failed"))
        #expect(try JSONSchema(named: "report.schema.json").violations(of: report.json) == [])
    }

    @Test("The schema rejects a report with a field too many or too few")
    func strictSchema() throws {
        let schema = try JSONSchema(named: "report.schema.json")
        guard case .object(let members) = try report().json else { return }
        #expect(!schema.violations(of: .object(Array(members.dropLast()))).isEmpty)
        #expect(!schema.violations(of: .object(members + [.init("more", 1)])).isEmpty)
    }

    @Test("The page is well-formed, and asks for nothing from elsewhere", arguments: [7, 8] as [UInt64])
    func page(seed: UInt64) throws {
        let html = try report(seed: seed).html
        let parser = XMLParser(data: Data(html.replacing("<!DOCTYPE html>", with: "").utf8))
        #expect(parser.parse(), "\(parser.parserError.map { "\($0)" } ?? "") line \(parser.lineNumber)")
        for word in ["<script", "http:", "https:", "url(", "@import", "<link", "<img"] { #expect(!html.contains(word)) }
        #expect(html.contains("<svg") && html.contains(seed == 7 ? "passed" : "failed"))
    }

    @Test("Names are escaped on the page")
    func escaping() {
        #expect(XML.escaped("<a & \"b\" '\u{1}'>") == "&lt;a &amp; &quot;b&quot; &#39;\u{FFFD}&#39;&gt;")
    }

    @Test("The terminal's report keeps to the width, and has colours only when asked")
    func terminal() throws {
        let report = try report(seed: 8)
        let plain = report.terminal(width: 100)
        #expect(!plain.contains("\u{1B}"))
        #expect(report.terminal(width: 100, colour: true).contains("\u{1B}[31m"))
        #expect(plain.contains("failed") && plain.contains("layer.0.query.weight"))
        let table = plain.split(separator: "\n").filter {
            $0.hasPrefix("  ") && !$0.contains(" S") && !$0.contains(": ")
        }
        #expect(table.allSatisfy { $0.count <= 100 }, "\(plain)")
    }

    @Test("The figure of all outputs together is that of the mean of their relative squared errors")
    func together() throws {
        let report = try report(seed: 8)
        let errors = report.outputs.filter { $0.reference == .originalWeights }.map {
            $0.metrics.squaredError / $0.metrics.referenceEnergy
        }
        try #require(errors.count > 1)
        let decibels = -10 * log10(errors.reduce(0, +) / Double(errors.count))
        let figure = String(format: "%.1f dB", decibels)
        #expect(report.terminal(width: 100).contains("relative squared errors: \(figure)\n"))
    }
}
