package jacobian

// Along is along, for the tests of package jacobian_test.
var Along = along
