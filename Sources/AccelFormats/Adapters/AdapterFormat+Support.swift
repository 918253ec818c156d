extension AdapterFormat {
    public static var reading: FormatReading { FormatReading(schemes: [.init("LoRA", .merged)]) }
}
