# Names the modules of a Kubernetes version. Scripts that compile parts of Kubernetes source this file.

# Lists the versions, newest first. go.mod lists the modules of the newest version, and 1.36.mod those that 1.36 needs.
readonly KUBERNETES_VERSIONS=(1.37 1.36 1.35)

# choose_kubernetes FOLDER [VERSION]: chooses VERSION (default: the newest version) of the modules in FOLDER. Sets
# `modfile`, the path of the module file; `kubernetes`, the full version (v1.37.2); and `stamp`, the linker flags that
# embed the version in the program. Without these flags, the API server reports a version that clients cannot parse.
choose_kubernetes() {
  local version=${2:-${KUBERNETES_VERSIONS[0]}} package=k8s.io/component-base/version
  [[ " ${KUBERNETES_VERSIONS[*]} " == *" $version "* ]] || {
    echo "cannot build Kubernetes $version; the versions are: ${KUBERNETES_VERSIONS[*]}" >&2
    return 2
  }
  modfile=$1/$version.mod
  [[ $version != "${KUBERNETES_VERSIONS[0]}" ]] || modfile=$1/go.mod
  kubernetes=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit }' "$modfile")
  stamp="-X $package.gitVersion=$kubernetes -X $package.gitMajor=${version%.*} -X $package.gitMinor=${version#*.}"
}
