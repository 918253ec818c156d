extension CoreAIFormat {
    public static var reading: FormatReading {
        FormatReading(hasFunctions: false, schemes: [.init("every scheme that is written", .decoded)])
    }
}
