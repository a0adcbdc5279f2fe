#include <driverupgrade/c/driverupgrade.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  const char *identity = "{\"domain\":\"nvidia.com\",\"driver\":\"gpu\"}";
  du_str document = {identity, strlen(identity)};
  du_buf keys = {0};
  const du_code code = du_keys(document, &keys);
  printf("driverupgrade %s: %s\n", du_version(), keys.data);
  du_free(keys.data);
  return code == 0 ? 0 : 1;
}
