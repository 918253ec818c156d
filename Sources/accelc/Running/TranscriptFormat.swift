import Accel
import AccelByteIO

/// The formats of transcripts.
enum TranscriptFormat: String, CaseIterable {
    /// A line for each segment.
    case text
    /// SubRip subtitles.
    case srt
    /// WebVTT subtitles (https://www.w3.org/TR/webvtt1/).
    case vtt
    /// A line for each word: the times of its beginning and its end in seconds, and its text, with tabs between them.
    case words

    /// The beginning of the file.
    var beginning: String { self == .vtt ? "WEBVTT\n\n" : "" }

    /// - Parameter number: that of the segment, from 1 on.
    func text(of segment: TranscriptionSegment, number: Int) -> String {
        let line = segment.text.split(whereSeparator: \.isNewline).joined(separator: " ")
        let text = String(line.drop(while: \.isWhitespace))
        switch self {
        case .text: return "\(text)\n"
        case .words:
            return segment.words.map { word in
                let text = word.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                return "\(Text.decimals(word.start, 2))\t\(Text.decimals(word.end, 2))\t\(text)\n"
            }.joined()
        case .srt:
            return
                "\(number)\n\(Self.time(segment.start, ",")) --> \(Self.time(segment.end, ","))\n\(Self.cue(text))\n\n"
        case .vtt:
            return "\(Self.time(segment.start, ".")) --> \(Self.time(segment.end, "."))\n\(Self.cue(text))\n\n"
        }
    }

    /// An arrow would be read as another cue's times.
    private static func cue(_ text: String) -> String { text.replacing("-->", with: "->") }

    /// Returns a time as hours, minutes, seconds and milliseconds.
    private static func time(_ seconds: Double, _ point: String) -> String {
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = "\(number)"
            return String(repeating: "0", count: max(width - digits.count, 0)) + digits
        }
        let milliseconds = Int((max(seconds, 0) * 1000).rounded())
        let (whole, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        return
            "\(padded(whole / 3600, 2)):\(padded(whole / 60 % 60, 2)):\(padded(whole % 60, 2))\(point)\(padded(rest, 3))"
    }
}
