// Property: numactl's node syntax is read as numactl documents it, and everything else is refused with a reason.
// Method: lists against sets written by hand, on machines with gaps, and a table of wrong ones.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <string>

#include "common/node_list.hpp"
#include "unit/common/file_tree.hpp"

namespace {

using homing::cli::parse_nodes;
using homing::platform::node_set;

node_set set(const char* list) { return *node_set::parse_list(list); }

TEST(NodeList, NumbersAndRanges) {
  const node_set machine = set("0-3,8,33");
  EXPECT_EQ(parse_nodes("0", machine).nodes, set("0"));
  EXPECT_EQ(parse_nodes("0-1,3", machine).nodes, set("0-1,3"));
  EXPECT_EQ(parse_nodes("33,0,33", machine).nodes, set("0,33"));
  EXPECT_EQ(parse_nodes("all", machine).nodes, machine);
}

TEST(NodeList, TheOthers) {
  const node_set machine = set("0-3,8");
  EXPECT_EQ(parse_nodes("!0", machine).nodes, set("1-3,8"));
  EXPECT_EQ(parse_nodes("!1-3", machine).nodes, set("0,8"));
}

TEST(NodeList, RelativeToWhatIsAllowed) {
  const node_set allowed = set("2,5,33");
  EXPECT_EQ(parse_nodes("+0", allowed).nodes, set("2"));
  EXPECT_EQ(parse_nodes("+1-2", allowed).nodes, set("5,33"));
  EXPECT_EQ(parse_nodes("+0,2", allowed).nodes, set("2,33"));
  EXPECT_EQ(parse_nodes("!+0", allowed).nodes, set("5,33"));
}

TEST(NodeList, SameAsBefore) {
  const node_set before = set("1,3");
  EXPECT_EQ(parse_nodes("same", set("0-3"), {.same = &before}).nodes, before);
  EXPECT_NE(parse_nodes("same", set("0-2"), {.same = &before}).error.find("names node 3"), std::string::npos);
  EXPECT_NE(parse_nodes("same", set("0-3")).error.find("there is none"), std::string::npos);
}

/// A made-up /sys: devices on a bus that knows its node, on one that doesn't, and on none.
class NodeOfADevice : public ::testing::Test {
 protected:
  NodeOfADevice() {
    add("pci0000:3a/0000:3b:00.0", "1\n");
    add("pci0000:3a/0000:3b:00.0/net/eth0", "");
    add("pci0000:3a/0000:3b:00.0/nvme/nvme0/nvme0n1/nvme0n1p2", "");
    add("pci0000:3a/0000:3b:1f.3", "3");
    add("pci0001:00/0001:00:00.0", "2");
    add("pci0000:00/0000:00:02.0", "-1\n");
    add("pci0000:00/0000:00:02.0/virtio0/block/vda", "");
    add("virtual/net/lo", "");
    link("/sys/class/net/eth0", "pci0000:3a/0000:3b:00.0/net/eth0");
    link("/sys/class/net/lo", "virtual/net/lo");
    link("/sys/class/block/nvme0n1p2", "pci0000:3a/0000:3b:00.0/nvme/nvme0/nvme0n1/nvme0n1p2");
    link("/sys/class/block/vda", "pci0000:00/0000:00:02.0/virtio0/block/vda");
    for (const char* name : {"pci0000:3a/0000:3b:00.0", "pci0000:3a/0000:3b:1f.3", "pci0001:00/0001:00:00.0"}) {
      link("/sys/bus/pci/devices/" + std::filesystem::path(name).filename().string(), name);
    }
  }
  // A device's folder; `node`: what its file says, no file if empty.
  void add(const std::string& device, const char* node) const {
    const std::string folder = "/sys/devices/" + device;
    tree_.write(folder + "/uevent", "");
    if (*node != 0) tree_.write(folder + "/numa_node", node);
  }
  void link(const std::string& path, const std::string& device) const {
    const std::filesystem::path at = tree_.root() + path;
    std::filesystem::create_directories(at.parent_path());
    std::filesystem::create_symlink(tree_.root() + "/sys/devices/" + device, at);
  }
  [[nodiscard]] homing::cli::node_list look_up(const std::string& text, const char* usable = "0-3") const {
    return parse_nodes(text, set(usable), {.same = nullptr, .root = tree_.root()});
  }
  void expect_error(const std::string& text, const char* part) const {
    const auto seen = look_up(text);
    EXPECT_TRUE(seen.nodes.empty()) << text;
    EXPECT_NE(seen.error.find(part), std::string::npos) << text << ": " << seen.error;
  }
  const homing::testing::file_tree tree_;
};

TEST_F(NodeOfADevice, IsThatOfItsBus) {
  EXPECT_EQ(look_up("netdev:eth0").nodes, set("1")) << look_up("netdev:eth0").error;
  EXPECT_EQ(look_up("block:nvme0n1p2").nodes, set("1"));
  EXPECT_EQ(look_up("!netdev:eth0").nodes, set("0,2-3"));
}

TEST_F(NodeOfADevice, PciAddressesHaveSegmentAndFunctionOrNot) {
  for (const char* address : {"3b:00.0", "3b:0", "0000:3b:00.0", "0:3b:0", "0:3b:0:0", "3B:00"}) {
    EXPECT_EQ(look_up(std::string("pci:") + address).nodes, set("1")) << address;
  }
  EXPECT_EQ(look_up("pci:3b:1f.3").nodes, set("3"));
  EXPECT_EQ(look_up("pci:0000:3b:1f:3").nodes, set("3"));
  EXPECT_EQ(look_up("pci:1:0:0").nodes, set("2"));
  for (const char* address : {"", "3b", "3b:20.0", "3b:00.8", "100:00.0", "3b:00.", ":", "3b::0", "0:0:3b:0.0", "g:0",
                              " 3b:0", "+3b:0", "../x:0", "1:2:3:4:5"}) {
    expect_error(std::string("pci:") + address, "is no PCI address");
  }
  expect_error("pci:3c:00.0", "is no PCI device of this machine");
}

TEST_F(NodeOfADevice, OfAFileIsThatOfItsDisk) {
  tree_.write("/data/file", "x");
  const std::string path = tree_.root() + "/data/file";
  expect_error("file:" + path, "lies on no block device");
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  link("/sys/dev/block/" + std::to_string(major(facts.st_dev)) + ':' + std::to_string(minor(facts.st_dev)),
       "pci0000:3a/0000:3b:00.0/nvme/nvme0/nvme0n1/nvme0n1p2");
  EXPECT_EQ(look_up("file:" + path).nodes, set("1")) << look_up("file:" + path).error;
  expect_error("file:" + path + ".not", "can't be looked at: No such file");
  ASSERT_EQ(::stat("/dev/null", &facts), 0);
  link("/sys/dev/char/" + std::to_string(major(facts.st_rdev)) + ':' + std::to_string(minor(facts.st_rdev)),
       "pci0001:00/0001:00:00.0");
  EXPECT_EQ(look_up("file:/dev/null").nodes, set("2")) << "a device itself";
}

TEST_F(NodeOfADevice, WrongOnesSayWhat) {
  expect_error("netdev:lo", "is virtual");
  expect_error("netdev:eth7", "is no network device of this machine");
  expect_error("block:sdz", "is no block device of this machine");
  expect_error("block:vda", "at a node that the kernel doesn't know");
  for (const char* name : {"netdev:", "netdev:.", "netdev:..", "netdev:../net/eth0"}) {
    expect_error(name, "names no network device");
  }
  expect_error("block:/dev/sda", "for a path: file:PATH");
  expect_error("ip:localhost", "give the network device");
  expect_error("usb:1-1", "is no kind of device");
  expect_error("+netdev:eth0", "is no kind of device");
  expect_error("netdev:eth0,1", "is no network device");
  EXPECT_NE(look_up("netdev:eth0", "0,2").error.find("names node 1, which does not exist or may not be used"),
            std::string::npos);
  EXPECT_NE(look_up("!netdev:eth0", "1").error.find("leaves no node"), std::string::npos);
}

TEST(NodeList, WrongOnesSayWhat) {
  const node_set machine = set("0-3");
  for (const char* text : {"",      " ",     "0 ",   " 0",   "0,",
                           ",0",    "0-",    "-1",   "3-1",  "a",
                           "-0",    "!-0",   "0,-0", "0--0", "+-0",
                           "0x1",   "0-1-2", "!",    "+",    "+!0",
                           "!!0",   "ALL",   "1.5",  "0;1",  "99999999999999999999",
                           "all,0", "0\n"}) {
    const auto seen = parse_nodes(text, machine);
    EXPECT_TRUE(seen.nodes.empty()) << text;
    EXPECT_NE(seen.error.find("is not a list of nodes"), std::string::npos) << text << ": " << seen.error;
    EXPECT_NE(seen.error.find("0-3"), std::string::npos) << seen.error;
  }
  for (const char* text : {"4", "0-4", "!7", "+4", "!+4"}) {
    const auto seen = parse_nodes(text, machine);
    EXPECT_TRUE(seen.nodes.empty()) << text;
    EXPECT_NE(seen.error.find("does not exist or may not be used"), std::string::npos) << seen.error;
  }
  EXPECT_NE(parse_nodes("!0-3", machine).error.find("leaves no node"), std::string::npos);
  EXPECT_FALSE(parse_nodes("all", node_set()).error.empty());
}

}  // namespace
