package logline

// MostAdvice is for tests.
const MostAdvice = mostAdvice
