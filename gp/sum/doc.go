// Package sum adds the variances of two methods that both leave the network's outputs as
// they are. Its method is VaLLA with GAPA: the first knows what the training rows leave open
// of the weights, the second how far an input is from these rows.
//
// Two independent Gaussian processes with the network's outputs for the mean of their sum
// have the covariance
//
//	Q(x) = t Q_VaLLA(x) + Q_GAPA(x),   Q_GAPA(x) = s r(u(x)) J(x) diag(c²) J(x)ᵀ.
//
// Both explain the same residuals, so that each has to leave room for the other. VaLLA is
// fitted in the presence of a half of the variance that GAPA has alone. At training rows GAPA's
// variance leaves each row out of its own neighbours. Then the two factors t and s, with
// the noise of the targets if they have any, are chosen to make the validation rows
// most likely. With s = 0 the sum is VaLLA, and with t = 0 it is GAPA.
package sum
