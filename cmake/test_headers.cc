// The program that the precompiled headers of the tests belong to: DriverUpgradeTests.cmake.
int main() { return 0; }
