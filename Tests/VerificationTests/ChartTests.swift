import AccelCalibration
import AccelConversion
import AccelTensors
import Foundation
import Testing

@testable import AccelVerification

@Suite("Labels of charts")
struct ChartTests {
    private struct Label {
        let text: String
        let x: ClosedRange<Double>
        let y: ClosedRange<Double>

        func overlaps(_ other: Label) -> Bool {
            x.lowerBound < other.x.upperBound && other.x.lowerBound < x.upperBound
                && y.lowerBound < other.y.upperBound && other.y.lowerBound < y.upperBound
        }
    }

    /// The boxes of all texts of a picture, by their anchors. A character of the widest font takes 7 of 11 units, as
    /// Chromium lays out "0" in DejaVu Sans.
    private func labels(_ svg: String) throws -> [Label] {
        try svg.matches(of: /<text ([^>]*)>([^<]*)<\/text>/).map { match in
            func number(_ name: String) throws -> Double {
                try match.1.firstMatch(of: Regex(" ?\(name)=\"(-?[0-9.]+)\""))?[1].substring.flatMap { Double($0) }
                    ?? .nan
            }
            let width = Double(match.2.count) * 7
            let share = match.1.contains("middle") ? 0.5 : match.1.contains("end") ? 1 : 0
            let (left, base) = (try number("x") - width * share, try number("y"))
            return Label(text: String(match.2), x: left...left + width, y: base - 8...base + 3)
        }
    }

    private func requireApart(_ svg: String, width: Double, _ subject: String) throws {
        let labels = try labels(svg)
        #expect(!labels.isEmpty)
        for (index, label) in labels.enumerated() {
            #expect(
                label.x.lowerBound >= 0 && label.x.upperBound <= width, "\(subject): \(label.text) leaves the picture")
            for other in labels[..<index] where label.overlaps(other) {
                Issue.record("\(subject): \"\(label.text)\" overlaps \"\(other.text)\"")
            }
        }
    }

    @Test("A histogram's labels never overlap, over 1 to 40 decades", arguments: [false, true])
    func histogram(hasZeros: Bool) throws {
        for span in 1...40 {
            for first in [-38, -20, -9, -3, 38 - span + 1] where (-38...38 - span + 1).contains(first) {
                var distribution = ErrorDistribution()
                if hasZeros { distribution.record(0) }
                for exponent in first..<first + span { distribution.record(Float(pow(10, Double(exponent)) * 1.5)) }
                let chart = HistogramChart(title: "output", distribution: distribution)
                #expect(distribution.decades.count >= span)
                for screen in Screen.allCases {
                    try requireApart(
                        chart.svg(screen), width: screen == .wide ? 470 : 360, "\(span) decades from 1e\(first)")
                }
                let named = try labels(chart.svg(.wide)).filter { $0.text.hasPrefix("1e") }
                #expect(chart.svg(.wide).split(separator: "<rect").count - 1 <= 14)
                #expect(named.count >= (hasZeros ? 0 : 1) && (span < 20 || named.count >= 3), "\(span) from \(first)")
            }
        }
    }

    @Test("Up to five decades each bar has its label")
    func fewDecades() throws {
        var distribution = ErrorDistribution()
        for exponent in -5..<0 { distribution.record(Float(pow(10, Double(exponent)) * 1.5)) }
        let names = try labels(HistogramChart(title: "x", distribution: distribution).svg(.wide)).map(\.text)
        #expect(names.filter { $0.hasPrefix("1e") } == ["1e-5", "1e-4", "1e-3", "1e-2", "1e-1"])
    }

    @Test("Labels of the layers' chart never overlap", arguments: [1, 7, 40, 130, 400])
    func layers(count: Int) throws {
        for extreme in [1, 1e-4, 1e-9, 1e-19] as [Float] {
            let rows = (0..<count).map { index in
                // From -760 to 760 dB.
                let (reference, error) = index % 2 == 0 ? (1, extreme) : (extreme, 1 / extreme)
                let metrics = Metrics([reference, error], against: [reference, 0])
                return OperatorFinding(
                    function: "main", label: "encoder.layer.\(index).dense.linear", kind: "linear", shape: [2],
                    sampledRows: nil, kernel: metrics, injected: metrics, propagated: metrics, failure: nil)
            }
            for screen in Screen.allCases {
                try requireApart(
                    LayerChart(rows: rows).svg(screen), width: screen.width, "\(count) layers, \(extreme)")
            }
        }
    }

    @Test("Labels of the budget's curve never overlap", arguments: [1.0, 4, 8.5, 16, 32])
    func curve(bits: Double) throws {
        for sqnr in [5.0, 60, 150, 700] {
            let points = [
                ParetoPoint(bytes: 0, bits: bits / 2, sqnr: -sqnr, isMeasured: true),
                ParetoPoint(bytes: 0, bits: bits, sqnr: sqnr, isMeasured: false),
            ]
            try requireApart(
                ParetoChart(points: points, chosen: (bits, sqnr)).svg, width: 960, "\(bits) bits, \(sqnr) dB")
        }
    }
}

extension ErrorDistribution {
    fileprivate mutating func record(_ error: Float) {
        record {
            $0[Int(error.bitPattern >> 16)] += 1
            return 1
        }
    }
}
