/// Memory for an encoding that is used again.
struct EncodingWork {
    /// The text, repaired where it is no UTF-8.
    var original: [UInt8] = []
    var pieces = PieceText()
    var scalars = ScalarText()
    var patterns = PatternScratch()
    var model = ModelWork()
    var output = TokenOutput()
    var segment: [UInt8] = []
}
