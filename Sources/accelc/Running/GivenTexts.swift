import Accel
import AccelByteIO
import AccelFrontEnds

/// The texts of an option: the lines of a file or of standard input that are not blank, or one text itself.
struct GivenTexts {
    let texts: [String]
    /// The name of the file, and the line of each text; nil for a text itself.
    private let place: (file: String, lines: [Int])?

    /// The number of a text's line, from 1.
    func line(of index: Int) -> Int { place?.lines[index] ?? 1 }

    /// - Parameter given: the path of a file, `-` for standard input, or a text.
    init(_ given: String, _ option: String, by frontEnd: TextFrontEnd) throws {
        let isText =
            Files.kind(of: given) == nil && (!TextFile.recognises(given) || given.contains(where: \.isWhitespace))
        if isText, given != "-" {
            self.init([given], nil)
        } else {
            try self.init(file: given, option, by: frontEnd)
        }
    }

    private init(_ texts: [String], _ place: (file: String, lines: [Int])?) {
        (self.texts, self.place) = (texts, place)
    }

    /// - Parameter path: that of a file or pipe, or `-` for standard input.
    /// - Throws: `RequestError` (unavailable) for a folder, and where there is none.
    init(file path: String, _ option: String, by frontEnd: TextFrontEnd) throws {
        let file: TextFile
        switch path == "-" ? nil : Files.kind(of: path) {
        case nil where path == "-": file = try TextFile(StandardInput.text(), path: "standard input")
        case nil:
            throw RequestError("there is no file \(path)\(Files.suggestion(for: path))", status: .unavailable)
        case .file: file = try TextFile(path)
        case .folder: throw RequestError("\(path) is a folder; \(option) takes a file", status: .unavailable)
        case .some: file = try TextFile(StandardInput.text(at: path), path: path)
        }
        let lines = file.lines
        self.init(try lines.map { try frontEnd.text(of: $0.entry) }, (file.path, lines.map(\.number)))
    }

    /// Runs what takes all texts. An error of one of them names its line.
    func locating<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as AccelError {
            guard let place, let index = texts.indices.first(where: { error.location == "text \($0 + 1)" }) else {
                throw error
            }
            var located = error
            located.location = "\(place.file), line \(place.lines[index])"
            throw located
        }
    }
}
