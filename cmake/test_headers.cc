// The program that owns the tests' precompiled headers (DriverUpgradeTests.cmake).
int main() { return 0; }
