// SPDX-License-Identifier: MIT
#include "daemon/transport/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <future>

#include "evidence/base/status.h"

namespace keysieve::transport {
namespace {

using ::testing::HasSubstr;

struct Folder {
  Folder() {
    char folder[] = "/tmp/ks-unix-XXXXXX";
    path = ::mkdtemp(folder);
  }
  ~Folder() { ::rmdir(path.c_str()); }
  std::string path;
};

absl::StatusOr<std::unique_ptr<Listener>> BindPath(const std::string& path) {
  return Listener::Bind(*config::ParseAddress("unix:" + path));
}

// Connects to 127.0.0.1 at the address's port; -1 if that is refused.
int ConnectTcp(const std::string& address) {
  sockaddr_in to{.sin_family = AF_INET};
  to.sin_port = htons(config::ParseAddress(address)->port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0) return fd;
  ::close(fd);
  return -1;
}

TEST(Listener, MakesAPrivateSocketInAPrivateFolderAndCleansUp) {
  Folder folder;
  const std::string path = folder.path + "/keysieve/k.sock";
  {
    const auto listener = BindPath(path);
    ASSERT_TRUE(listener.ok()) << listener.status();
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    ASSERT_EQ(::stat((folder.path + "/keysieve").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  ::rmdir((folder.path + "/keysieve").c_str());
}

TEST(Listener, TellsWhoCalls) {
  Folder folder;
  const auto listener = BindPath(folder.path + "/k.sock");
  ASSERT_TRUE(listener.ok());
  std::promise<uid_t> who;
  (*listener)->Start([&](int fd, std::optional<uid_t> uid) {
    ::close(fd);
    who.set_value(*uid);
  });
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX};
  (folder.path + "/k.sock").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(who.get_future().get(), ::geteuid());
  ::close(fd);
}

TEST(Listener, ReplacesAStaleSocketButNeverALiveOne) {
  Folder folder;
  const std::string path = folder.path + "/k.sock";
  // A socket that nobody listens on any more: bound, then its owner died.
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX};
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::close(fd);
  auto first = BindPath(path);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = BindPath(path);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(Message(second.status()), HasSubstr("another process listens on " + path));
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
}

TEST(Listener, LeavesAFileThatIsNoSocketAlone) {
  Folder folder;
  const std::string path = folder.path + "/k.sock";
  ::close(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
  const auto listener = BindPath(path);
  ASSERT_FALSE(listener.ok());
  EXPECT_THAT(Message(listener.status()), HasSubstr("is no socket"));
  EXPECT_EQ(::unlink(path.c_str()), 0);
}

TEST(Listener, SaysWhyAFolderCannotBeMade) {
  const auto listener = BindPath("/nonexistent/deeper/k.sock");
  ASSERT_FALSE(listener.ok());
  EXPECT_THAT(Message(listener.status()), HasSubstr("/nonexistent/deeper"));
}

TEST(Listener, ATcpPortOfZeroBecomesOneAndASecondListenerIsRefused) {
  const auto first = Listener::Bind(*config::ParseAddress("127.0.0.1:0"));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_NE(config::ParseAddress((*first)->address())->port, 0);
  const auto second = Listener::Bind(*config::ParseAddress((*first)->address()));
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(Message(second.status()), HasSubstr("cannot listen on " + (*first)->address()));
}

TEST(Listener, AHostThatDoesNotExistIsNamed) {
  const auto listener = Listener::Bind(*config::ParseAddress("no.such.host.invalid:1"));
  ASSERT_FALSE(listener.ok());
  EXPECT_THAT(Message(listener.status()), HasSubstr("no.such.host.invalid"));
}

TEST(Listener, ConnectionsMadeWhileNobodyAcceptsWaitForWhoTakesTheSocketOver) {
  Folder folder;
  for (const std::string& address :
       {"unix:" + folder.path + "/k.sock", std::string("127.0.0.1:0")}) {
    auto first = Listener::Bind(*config::ParseAddress(address));
    ASSERT_TRUE(first.ok()) << first.status();
    (*first)->Start([](int fd, std::optional<uid_t>) { ::close(fd); });
    HandedSocket handed = (*first)->HandOver();
    first->reset();
    EXPECT_EQ(handed.asked, address);
    int client = -1;
    if (address[0] == 'u') {
      client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_un to{.sun_family = AF_UNIX};
      (folder.path + "/k.sock").copy(to.sun_path, sizeof(to.sun_path) - 1);
      ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    } else {
      client = ConnectTcp(handed.address);
    }
    ASSERT_GE(client, 0);
    const std::string bound = handed.address;
    auto second = Listener::Adopt(std::move(handed));
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_EQ((*second)->address(), bound);
    std::promise<bool> accepted;
    (*second)->Start([&](int fd, std::optional<uid_t> uid) {
      ::close(fd);
      accepted.set_value(uid.has_value());
    });
    EXPECT_EQ(accepted.get_future().get(), address[0] == 'u');
    ::close(client);
  }
  EXPECT_NE(::access((folder.path + "/k.sock").c_str(), F_OK), 0);  // the last owner cleaned up
}

TEST(Listener, ADescriptorThatDoesNotListenIsNotAdopted) {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const auto listener = Listener::Adopt({"127.0.0.1:0", "127.0.0.1:1", {fd}});
  ASSERT_FALSE(listener.ok());
  EXPECT_THAT(Message(listener.status()), HasSubstr("does not listen"));
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);  // closed
}

}  // namespace
}  // namespace keysieve::transport
