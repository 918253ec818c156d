import AccelByteIO
import AccelText

/// Compares tokenizers with what the peer gave.
struct Check {
    let folder: String
    let only: [String]

    func run() throws -> Int32 {
        let lines = try Golden.lines("\(folder)/lines.bin")
        let names = try Files.list(folder).filter { $0.hasSuffix(".golden") }.map { String($0.dropLast(7)) }
        var (compared, different, tokenizers) = (0, 0, 0)
        for name in names where only.isEmpty || only.contains(name) {
            let (count, differences) = try check(name, lines)
            compared += count
            different += differences
            tokenizers += 1
        }
        print("\(tokenizers) tokenizers, \(compared) lines x tokenizers compared, \(different) different")
        return different == 0 ? 0 : 1
    }

    private func tokenizer(_ name: String) throws -> Tokenizer {
        let json = "\(folder)/\(name).json"
        if Files.kind(of: json) == .file { return try Tokenizer(json: MappedFile(json).bytes, file: json) }
        let gguf = "\(folder)/\(name).metadata"
        if Files.kind(of: gguf) == .file { return try Tokenizer(gguf: Metadata.vocabulary(gguf)) }
        let model = "\(folder)/sp/\(name).model"
        return try Tokenizer(sentencePiece: MappedFile(model).bytes, file: model)
    }

    private func check(_ name: String, _ lines: [[UInt8]]) throws -> (compared: Int, different: Int) {
        let tokenizer: Tokenizer
        do {
            tokenizer = try self.tokenizer(name)
        } catch {
            print("\(name): \(error)")
            return (lines.count, lines.count)
        }
        var reader = try GoldenReader("\(folder)/\(name).golden")
        guard try reader.number() == lines.count else { fatalError("other lines") }
        var different = 0
        for (index, line) in lines.enumerated() {
            let golden = try Golden(&reader)
            let problem: String? = line.withUnsafeBufferPointer { self.problem(tokenizer, $0, golden) }
            guard let problem else { continue }
            different += 1
            if different <= 2 {
                print(
                    "\(name), line \(index) \(String(decoding: line, as: UTF8.self).debugDescription.prefix(300)): \(problem)"
                )
            }
        }
        print("\(name): \(different) of \(lines.count) lines differ")
        return (lines.count, different)
    }

    private func problem(_ tokenizer: Tokenizer, _ line: UnsafeBufferPointer<UInt8>, _ golden: Golden) -> String? {
        let encoding: Encoding
        let ids: [TokenID]
        do {
            encoding = try tokenizer.encoding(ofUTF8: line)
            ids = try tokenizer.encode(utf8: line)
        } catch {
            return "\(error)"
        }
        func difference(_ what: String, _ ours: [Int32], _ theirs: [Int32]) -> String {
            let at = zip(ours, theirs).enumerated().first { $1.0 != $1.1 }?.offset ?? min(ours.count, theirs.count)
            let from = max(0, at - 4)
            return "\(what) \(at): \(ours.dropFirst(from).prefix(12)), expected \(theirs.dropFirst(from).prefix(12))"
        }
        if encoding.ids != golden.ids { return difference("id", encoding.ids, golden.ids) }
        if ids != golden.ids { return difference("id without offsets", ids, golden.ids) }
        let offsets = encoding.offsets.flatMap { [Int32($0.lowerBound), Int32($0.upperBound)] }
        if !golden.offsets.isEmpty, offsets != golden.offsets { return difference("offset", offsets, golden.offsets) }
        for (expected, skips) in [(golden.decoded, false), (golden.decodedWithoutSpecial, true)] {
            let text = tokenizer.decode(ids, skipSpecialTokens: skips)
            let wanted = String(decoding: expected, as: UTF8.self)
            if text.utf8.elementsEqual(wanted.utf8) == false {
                return "decoded \(text.debugDescription.prefix(200)), expected \(wanted.debugDescription.prefix(200))"
            }
            var stream = tokenizer.streamDecoder(skipSpecialTokens: skips)
            let parts = ids.map { stream.append($0) } + [stream.finish()]
            if parts.joined().utf8.elementsEqual(text.utf8) == false {
                return
                    "streamed \(parts.joined().debugDescription.prefix(200)), expected \(text.debugDescription.prefix(200))"
            }
        }
        return nil
    }
}
