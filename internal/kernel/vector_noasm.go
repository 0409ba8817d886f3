//go:build noasm || !amd64

package kernel

func fastElementary[T Float](elementary, []T, []T) bool { return false }

func fastArithmetic[T Float](operation, []T, []T, []T, T) bool { return false }

func fastMulAdd[T Float]([]T, []T, []T, []T) bool { return false }

func fastDot[T Float]([]T, []T) (T, bool) { return 0, false }

func fastSum[T Float]([]T) (T, bool) { return 0, false }

func fastAxpy4[T Float]([]T, []T, int, []T) bool { return false }
