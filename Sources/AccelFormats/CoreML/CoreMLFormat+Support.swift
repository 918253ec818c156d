extension CoreMLFormat {
    public static var reading: FormatReading {
        FormatReading(schemes: [
            .init("float32", .exact), .init("float16", .exact), .init("compressed weights", .decoded),
        ])
    }
}
