@main struct Accelc { static func main() {} }
