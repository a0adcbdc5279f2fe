# Names the modules of a Kubernetes version. Scripts that compile parts of Kubernetes source this file.

# The versions, newest first. go.mod has the modules of the newest version, 1.36.mod has the modules of 1.36.
readonly KUBERNETES_VERSIONS=(1.37 1.36 1.35)

# choose_kubernetes FOLDER [VERSION]: chooses the newest version if VERSION is missing or empty. Sets `modfile`, the path of its modules;
# `kubernetes`, the version in full (v1.37.2); and `stamp`, flags of the linker that put the version into the program. Without them
# the API server reports a version that its clients cannot parse.
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
