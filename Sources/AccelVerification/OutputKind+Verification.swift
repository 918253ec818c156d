public import AccelByteIO

extension OutputKind {
    /// The folder that `RecordedRuns.record` writes: three files, of which runs.json names the package.
    public static let recordedRuns = OutputKind.folder("a folder of recorded runs") { path in
        let names = [RecordedRuns.list, RecordedRuns.inputs, RecordedRuns.outputs]
        return try foreignMember(of: path, besides: names)
            ?? missingMark("recorded runs", in: "\(path)/\(RecordedRuns.list)")
            ?? WrittenDocument.change(of: RecordedRuns.list, in: path)
    }

    /// A parity report as JSON.
    public static let parityReport = OutputKind.file("a parity report", suffixes: [".json"]) { path in
        try missingMark(ParityReport.mark, in: path)
    }

    /// A parity report as a page.
    public static let parityPage = OutputKind.file("a parity report's page", suffixes: [".html", ".htm"]) { path in
        let start = try MappedFile(path).bytes.withBytes { String(decoding: $0.prefix(512), as: UTF8.self) }
        return start.contains(ParityReport.pageMark) ? nil : "it has no line \(ParityReport.pageMark)"
    }
}
