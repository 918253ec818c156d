import AccelWeightCompression

extension AcceleratorPackageFormat {
    public static var reading: FormatReading {
        FormatReading(schemes: Codecs.all.map { .init($0.name, $0.type is any FloatCodec.Type ? .exact : .kept) })
    }
}
